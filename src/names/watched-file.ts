// A small system file that is read again when it has changed. Cold path: the file's status is checked at most once a second, and only when
// the content is asked for.
import { readFileSync, statSync } from 'node:fs';
import { limits } from '../shared/limits.js';

export class WatchedFile<Content> {
  readonly #path: string;
  readonly #parse: (text: string) => Content;
  readonly #nowMs: () => number;
  #content: Content;
  #version = '';
  #lookedAtMs = -Infinity;

  constructor(path: string, parse: (text: string) => Content, nowMs: () => number) {
    this.#path = path;
    this.#parse = parse;
    this.#nowMs = nowMs;
    this.#content = parse('');
  }

  /** The current content; a file that is missing, unreadable or too large counts as empty. */
  get content(): Content {
    const nowMs = this.#nowMs();
    if (nowMs - this.#lookedAtMs < limits.nameFileCheckMs) return this.#content;
    this.#lookedAtMs = nowMs;
    const version = this.#versionNow();
    if (version !== this.#version) {
      this.#version = version;
      this.#content = this.#parse(version === '' ? '' : this.#read());
    }
    return this.#content;
  }

  #versionNow(): string {
    const status = statSync(this.#path, { throwIfNoEntry: false });
    if (status === undefined || status.size > limits.nameFileBytesMax) return '';
    return `${status.ino} ${status.size} ${status.mtimeMs} ${status.ctimeMs}`;
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'latin1');
    } catch {
      return '';
    }
  }
}
