// A small system file that is read again when it has changed. Cold path: the file's status is checked at most once a second, and only when
// the content is asked for.
import { readFileSync, statSync } from 'node:fs';
import { MIB } from '../../shared/index.js';

/** Bytes of `/etc/hosts`, and of `/etc/resolv.conf`. A larger file counts as empty. */
export const NAME_FILE_BYTES_MAX = MIB;
/** Time that `/etc/hosts` and `/etc/resolv.conf` count as unchanged. After it, they are checked when a name is next needed. */
export const NAME_FILE_CHECK_MS = 1_000;

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
    if (nowMs - this.#lookedAtMs < NAME_FILE_CHECK_MS) return this.#content;
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
    if (status === undefined || status.size > NAME_FILE_BYTES_MAX) return '';
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
