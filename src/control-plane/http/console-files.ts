// The built files of the console (`ui/`): read once at the start and kept in memory in each encoding that the build
// made. A caller's path is never looked up on disk. Cold path.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Next to the program's compiled modules, in `dist/` and the like. */
export const CONSOLE_DIRECTORY = fileURLToPath(new URL('../../ui', import.meta.url));

export type ContentEncoding = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  readonly contentType: string;
  /** Whether the name contains a hash of the content, so that it may be cached forever. */
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

  /** Empty when the console was not built. */
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
   * @param path after `/ui/`. Page paths are routed by the console itself, so all of them get its one document.
   * @returns `undefined` for an unknown asset, and for everything when the console was not built.
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
