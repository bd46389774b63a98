// One line per request (`--access-log`): who, what and how it went; never arguments, tokens or whole session ids.
import type { FastifyInstance } from 'fastify';
import { subjectHash, type Logger } from '../../shared/logger.js';

export function logAccess(app: FastifyInstance, logger: Logger): void {
  app.addHook('onResponse', async (request, reply) => {
    const { subject, method, routeOptions } = request;
    const { server, composition } = request.params as Record<string, string | undefined>;
    logger.info(
      {
        subject: subject === '' ? '' : subjectHash(subject),
        method,
        route: routeOptions.url ?? '',
        server,
        composition,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      },
      'request',
    );
  });
}
