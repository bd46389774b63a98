// The files of the console (`ui/`), as the build has left them: read once, kept in memory in each encoding they were built in, and
// never looked for by a caller's path. Cold.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Beside the program's own modules, in `dist/` and its like. */
export const CONSOLE_DIRECTORY = fileURLToPath(new URL('../../ui', import.meta.url));

export type ContentEncoding = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  readonly contentType: string;
  /** Its name tells its content: it may be kept for ever. */
  readonly isHashed: boolean;
  readonly contents: Readonly<Partial<Record<ContentEncoding, Buffer>>> & { readonly identity: Buffer };
}

const INDEX = 'index.html';
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const HASHED_NAME = /-[A-Z0-9]{8}\.\w+$/;
const ASSETS = 'assets/';

export class ConsoleFiles {
  readonly #files: ReadonlyMap<string, ConsoleFile>;

  private constructor(files: ReadonlyMap<string, ConsoleFile>) {
    this.#files = files;
  }

  /** Without any when the console was not built. */
  static read(directory: string): ConsoleFiles {
    const files = new Map<string, ConsoleFile>();
    const names = existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : [];
    for (const name of names) {
      const contentType = CONTENT_TYPES[extname(name)];
      if (contentType !== undefined) files.set(name, readFile(join(directory, name), contentType));
    }
    return new ConsoleFiles(files);
  }

  /**
   * @param path behind `/ui/`. Paths of pages are the console's own to read: all of them get its one document.
   * @returns `undefined` for an asset that is not there, and for everything where the console was not built.
   */
  find(path: string): ConsoleFile | undefined {
    return path.startsWith(ASSETS) ? this.#files.get(path) : this.#files.get(INDEX);
  }
}

function readFile(path: string, contentType: string): ConsoleFile {
  const [br, gzip] = [`${path}.br`, `${path}.gz`].map((packed) =>
    existsSync(packed) ? readFileSync(packed) : undefined,
  );
  const packed = { ...(br !== undefined && { br }), ...(gzip !== undefined && { gzip }) };
  return { contentType, isHashed: HASHED_NAME.test(path), contents: { ...packed, identity: readFileSync(path) } };
}
