// The documentation of the HTTP interface: the OpenAPI document, and a page for people. Both are generated once.
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { documentationPage, pageStyle } from '../documentation-page.js';
import { mount } from '../mount.js';
import { createOpenApiDocument } from '../open-api.js';
import { operations } from '../operations.js';

export function mountDocumentationRoutes(app: FastifyInstance): void {
  const document = createOpenApiDocument();
  mount(app, operations.openApi, async () => document);

  const page = documentationPage(document);
  // The page's style is inline; nothing else may be loaded or run.
  const styleHash = createHash('sha256').update(pageStyle).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`;
  mount(app, operations.docs, async (_request, reply) => {
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy);
    return page;
  });
}
