// SPDX-License-Identifier: Apache-2.0
// Logs as plain text lines.  A training program may print anything: terminal sequences are removed, a carriage return
// starts its line again (as progress bars do), other control characters are shown as pictures.  The number of lines and
// their length are bounded.

const longestLine = 4000; // characters
const longestSequence = 256; // of a terminal; a longer one is shown as text

// CSI (colours, cursor), OSC (titles, links), the other string sequences, and escapes of two characters.
const sequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]{0,255}(?:\x07|\x1b\\|\x9c)|[ -/]+[0-~]|[0-OQ-WYZ\\`a-~])|\x9b[0-?]*[ -/]*[@-~]/g;

// One line without its line break, as it can be shown.
export function cleanLine(line: string): string {
  let text = line.replace(sequences, "");
  const returned = text.replace(/\r+$/, "").lastIndexOf("\r");
  if (returned >= 0) text = text.slice(returned + 1);
  text = text.replace(/\r+$/, "");
  // Letters that change the direction of the text could make a line read as another one.
  text = text.replace(/[\x00-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\x7f/g, "\u2421")
    .replace(/[\x80-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "\ufffd");
  return text.length <= longestLine ? text : `${text.slice(0, longestLine)}… (${text.length - longestLine} more characters)`;
}

// Lines of a stream, the oldest of which are dropped.
export class LogLines {
  readonly lines: string[] = [];
  dropped = 0;
  private rest = "";

  constructor(private readonly limit: number) {}

  // Take a piece of the log; a line may be spread over several pieces.
  add(piece: string): void {
    const parts = (this.rest + piece).split("\n");
    this.rest = parts.pop() ?? "";
    // A line without an end does not grow without a bound.  Its start is complete enough to be shown.
    if (this.rest.length > longestLine + longestSequence) {
      parts.push(this.rest);
      this.rest = "";
    }
    for (const part of parts) this.lines.push(cleanLine(part));
    const excess = this.lines.length - this.limit;
    if (excess > 0) {
      this.lines.splice(0, excess);
      this.dropped += excess;
    }
  }

  // All lines, with the one that is not complete yet.
  text(): string {
    const open = cleanLine(this.rest.replace(/\x1b[^\x1b]{0,40}$/, ""));
    return this.lines.join("\n") + (open ? `${this.lines.length ? "\n" : ""}${open}` : "");
  }
}
