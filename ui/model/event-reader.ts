// Parses server-sent events from the text of a response as it arrives.

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** The reader of one stream: takes each piece of text, and returns the events that are complete. */
export class EventReader {
  #rest = '';
  #event = '';
  #data: string[] = [];

  read(piece: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += piece;
    // A carriage return at the end may be the first half of a CRLF.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line, events);
    return events;
  }

  #take(line: string, events: ServerEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event || 'message', data: this.#data.join('\n') });
      this.#event = '';
      this.#data = [];
      return;
    }
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    if (name === 'event') this.#event = value;
  }
}
