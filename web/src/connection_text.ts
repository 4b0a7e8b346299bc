// SPDX-License-Identifier: Apache-2.0
// How old the data are, in words.
import { duration, time } from "./format.ts";
import type { Connection } from "./watch.ts";

export interface ConnectionText {
  mood: "good" | "warn" | "bad";
  text: string;
  spoken: string; // the same without numbers that count: a screen reader reads each change of it
}

const quiet_s = 12; // without changes polluxd sends every 10 s

export function connectionText(connection: Connection, age_s: number, now: number, recorded: boolean): ConnectionText {
  switch (connection.kind) {
    case "open":
      if (recorded) return { mood: "good", text: "recorded run", spoken: "Recorded run." };
      if (age_s <= quiet_s) return { mood: "good", text: "live", spoken: "Live." };
      return { mood: "warn", text: `${duration(Math.round(age_s))} old`, spoken: "The data are old." };
    case "connecting":
      return { mood: "warn", text: "connecting…", spoken: "Connecting." };
    case "lost": {
      const left = Math.max(0, Math.ceil(connection.retryAt - now));
      const since = time(connection.since, now);
      const again = left > 0 ? `trying again in ${left} s` : "trying again";
      const program = recorded ? "pollux view" : "polluxd";
      if (connection.status) {
        const answer = `${program} answers since ${since}: ${connection.reason.replace(/\.$/, "")}`;
        return { mood: "bad", text: `${answer}; ${again}`, spoken: `${answer}. The page tries again.` };
      }
      return {
        mood: "bad",
        text: `no answer since ${since}: ${program} may be stopped; ${again}`,
        spoken: `No answer since ${since}: ${program} may be stopped. The page tries again.`,
      };
    }
    case "refused":
      return { mood: "bad", text: "signed out", spoken: "Signed out." };
    case "closed":
      return { mood: "warn", text: "", spoken: "" };
  }
}
