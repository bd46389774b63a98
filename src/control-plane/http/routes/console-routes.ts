// Serves the console's files. Open, because a browser requests them before anybody can send a token. They contain no
// secrets; what they show comes from the rest of this interface, with the viewer's token.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpRefusal } from '../answered-error.js';
import type { ConsoleFile, ConsoleFiles, ContentEncoding } from '../console-files.js';
import { mount } from '../mount.js';
import { routePath } from '../operation.js';
import { operations } from '../operations.js';

/** Nothing from other origins, nothing inline, and no strings turned into markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
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

export function mountConsoleRoutes(app: FastifyInstance, files: Pick<ConsoleFiles, 'find'>): void {
  const { console } = operations;
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    const { '*': path = '' } = request.params as { readonly '*'?: string };
    const file = files.find(path);
    if (file === undefined) throw new HttpRefusal(404, path === '' ? NOT_BUILT : 'Not Found');
    return sent(file, request, reply);
  };
  mount(app, console, answer);
  // Pages have their own paths, so that they can be linked to.
  const config = { isOpen: true, isUncounted: true };
  app.route({ method: 'GET', url: `${routePath(console)}/*`, config, handler: answer });
}

const NOT_BUILT = 'The console is not part of this build: `npm run build` makes it';

function sent({ contentType, contents, isHashed }: ConsoleFile, request: FastifyRequest, reply: FastifyReply): Buffer {
  const accepted = acceptedEncodings(request.headers['accept-encoding'] ?? '');
  const encoding = ENCODINGS.find((each) => contents[each] !== undefined && accepted.has(each));
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  reply
    .type(contentType)
    .header('content-security-policy', POLICY)
    .header('vary', 'accept-encoding')
    .header('cache-control', isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache');
  return contents[encoding ?? 'identity'] ?? contents.identity;
}

function acceptedEncodings(header: string): ReadonlySet<string> {
  const accepted = header.split(',').map((each) => each.trim().split(/\s*;\s*/));
  return new Set(accepted.filter(([, weight]) => !/^q=0(?:\.0*)?$/.test(weight ?? '')).map(([name = '']) => name));
}
