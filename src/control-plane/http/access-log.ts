// A log line for each request that the relay did not handle (`--access-log`): who, what and the outcome; never arguments, tokens
// or whole session ids. Without the option, refused and failed requests are still logged, the first of each kind.
import type { FastifyInstance } from 'fastify';
import type { AccessLog } from '../../observation/access-log.js';

export function logAccess(app: FastifyInstance, log: AccessLog): void {
  app.decorateRequest('failure', null);
  app.decorateRequest('isRelayed', false);
  app.addHook('onResponse', async (request, reply) => {
    if (request.isRelayed) return;
    const { subject, method, routeOptions, failure, id } = request;
    const { server, composition } = request.params as Record<string, string | undefined>;
    const { outcome = 'ok', code = '', cause = '', host } = failure ?? {};
    log.answered({
      ...{ requestId: id, subject, method, route: routeOptions.url ?? '', server, composition },
      ...{ outcome, code, cause, host, status: reply.statusCode, durationMs: reply.elapsedTime },
      requestBytes: Number(request.headers['content-length'] ?? 0),
      bytes: Number(reply.getHeader('content-length') ?? 0),
    });
  });
}
