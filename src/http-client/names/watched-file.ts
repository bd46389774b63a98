// A small file, read again when it has changed. Reading `content` checks the file's status, at most once a second.
import { readFileSync, statSync } from 'node:fs';

export const FILE_CHECK_MS = 1_000;

export interface FileRead {
  readonly text: string | undefined;
  /** What is wrong with the file; `''` for nothing. */
  readonly fault: string;
  readonly isAbsent: boolean;
}

export class WatchedFile<Content> {
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #parse: (read: FileRead) => Content;
  readonly #nowMs: () => number;
  #lastRead: { readonly version: string; readonly content: Content } | undefined;
  #checkedAtMs = 0;

  constructor(path: string, bytesMax: number, parse: (read: FileRead) => Content, nowMs: () => number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#parse = parse;
    this.#nowMs = nowMs;
  }

  get content(): Content {
    const nowMs = this.#nowMs();
    if (this.#lastRead !== undefined && nowMs - this.#checkedAtMs < FILE_CHECK_MS) return this.#lastRead.content;
    this.#checkedAtMs = nowMs;
    const { version, fault } = this.#check();
    if (this.#lastRead?.version !== version) this.#lastRead = { version, content: this.#parse(this.#read(fault)) };
    return this.#lastRead.content;
  }

  #check(): { readonly version: string; readonly fault: string } {
    try {
      const status = statSync(this.#path, { throwIfNoEntry: false });
      if (status === undefined) return { version: '', fault: ABSENT_FAULT };
      const version = `${status.ino} ${status.size} ${status.mtimeMs} ${status.ctimeMs}`;
      // Anything but a regular file is refused, because reading it could block the process.
      if (!status.isFile()) return { version, fault: 'is not a regular file' };
      return { version, fault: status.size > this.#bytesMax ? `is larger than ${this.#bytesMax} bytes` : '' };
    } catch (error) {
      const fault = faultOf(error);
      return { version: fault, fault };
    }
  }

  #read(fault: string): FileRead {
    if (fault !== '') return { text: undefined, fault, isAbsent: fault === ABSENT_FAULT };
    try {
      return { text: readFileSync(this.#path, 'latin1'), fault, isAbsent: false };
    } catch (error) {
      return { text: undefined, fault: faultOf(error), isAbsent: false };
    }
  }
}

const ABSENT_FAULT = 'is not there';

function faultOf(error: unknown): string {
  return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`;
}
