// Server-sent events out of the text of an answer, as it comes.

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Of one stream: give it each piece, and take the events that are whole. */
export class EventReader {
  #rest = '';
  #event = '';
  #data: string[] = [];

  read(piece: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += piece;
    // A carriage return at the end may be half of a line's end.
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
