// Serves the console's built files (`ui/`), which are read once. The files need no token, because a browser requests them before
// it has one, and contain no secrets. A caller's path is never looked up on disk. Cold path.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ControlPlaneFault } from '../../common/control-plane-fault.js';

/** The directory of the console's files, beside the program's compiled modules. */
export const CONSOLE_DIRECTORY = fileURLToPath(new URL('../../../ui', import.meta.url));

type ContentEncoding = 'br' | 'gzip' | 'identity';

interface ConsoleFile {
  readonly contentType: string;
  /** Whether the name contains a hash of the content: then browsers may cache the file forever. */
  readonly isHashed: boolean;
  readonly contents: Readonly<Partial<Record<ContentEncoding, Buffer>>> & { readonly identity: Buffer };
}

const INDEX_FILE = 'index.html';
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const HASHED_NAME = /-[A-Z0-9]{8}\.\w+$/;
const ASSETS_FOLDER = 'assets/';

/** The files by their names. There are none if the console was not built. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export function readConsole(directory: string): ConsoleFiles {
  const files = new Map<string, ConsoleFile>();
  const names = existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : [];
  for (const name of names) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType !== undefined) files.set(name, readFile(join(directory, name), contentType));
  }
  return files;
}

function readFile(path: string, contentType: string): ConsoleFile {
  const [br, gzip] = [`${path}.br`, `${path}.gz`].map((each) => (existsSync(each) ? readFileSync(each) : undefined));
  const compressed = { ...(br !== undefined && { br }), ...(gzip !== undefined && { gzip }) };
  return { contentType, isHashed: HASHED_NAME.test(path), contents: { ...compressed, identity: readFileSync(path) } };
}

/** The console's content security policy: nothing from other origins, nothing inline, no text turned into markup. */
const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const ENCODINGS: readonly ContentEncoding[] = ['br', 'gzip'];
const YEAR_S = 31_536_000;

export function mountConsoleRoutes(app: FastifyInstance, files: ConsoleFiles): void {
  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    // The console itself routes pages, so all pages are one document.
    const file = files.get(path.startsWith(ASSETS_FOLDER) ? path : INDEX_FILE);
    if (file === undefined) throw new ControlPlaneFault('not-found', path === '' ? NOT_BUILT : 'Not Found');
    return send(file, request, reply);
  };
  const config = { isOpen: true, isUncounted: true };
  for (const url of ['/ui', '/ui/*']) app.route({ method: 'GET', url, config, handler: serve });
  // The redirect is relative, because a proxy may have put a prefix before the path.
  app.route({ method: 'GET', url: '/', config, handler: async (_, reply) => reply.redirect('ui') });
}

const NOT_BUILT = 'The console is not part of this build: `npm run build` makes it';

function send({ contentType, contents, isHashed }: ConsoleFile, request: FastifyRequest, reply: FastifyReply): Buffer {
  const accepted = acceptedEncodings(request.headers['accept-encoding'] ?? '');
  const encoding = ENCODINGS.find((each) => contents[each] !== undefined && accepted.has(each));
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  reply
    .type(contentType)
    .header('content-security-policy', CONSOLE_POLICY)
    .header('vary', 'accept-encoding')
    .header('cache-control', isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache');
  return contents[encoding ?? 'identity'] ?? contents.identity;
}

function acceptedEncodings(header: string): ReadonlySet<string> {
  const accepted = header.split(',').map((each) => each.trim().split(/\s*;\s*/));
  return new Set(accepted.filter(([, weight]) => !/^q=0(?:\.0*)?$/.test(weight ?? '')).map(([name = '']) => name));
}
