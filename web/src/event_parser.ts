// SPDX-License-Identifier: Apache-2.0
// Server-sent events from pieces of text, as the HTML standard defines them: lines end with LF, CR or CRLF, a blank
// line ends a message, lines that start with a colon are comments.  The browser's EventSource cannot be used because it sends no
// Authorization header.

export interface Message {
  id: string;
  event: string;
  data: string;
}

export class EventParser {
  private rest: string[] = []; // pieces of a line without its end; joined once, because a snapshot is one line of a megabyte
  private skipNewline = false; // the last piece ended with CR; an LF that follows belongs to it
  private id = "";
  private event = "";
  private data: string[] = [];

  // Take a piece of the stream and return the messages that it completes.
  take(piece: string): Message[] {
    const messages: Message[] = [];
    let text = piece;
    if (this.skipNewline && text.length > 0) {
      if (text[0] === "\n") text = text.slice(1);
      this.skipNewline = false;
    }
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at];
      if (character !== "\n" && character !== "\r") continue;
      this.rest.push(text.slice(start, at));
      this.line(this.rest.join(""), messages);
      this.rest = [];
      if (character === "\r") {
        if (at + 1 === text.length) this.skipNewline = true;
        else if (text[at + 1] === "\n") at++;
      }
      start = at + 1;
    }
    if (start < text.length) this.rest.push(text.slice(start));
    return messages;
  }

  private line(line: string, messages: Message[]): void {
    if (line === "") {
      if (this.data.length) messages.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
      this.event = "";
      this.data = [];
      return;
    }
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }
}
