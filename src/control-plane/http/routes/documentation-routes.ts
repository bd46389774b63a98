// The OpenAPI document as an HTML page, which runs no script and loads nothing.
import type { FastifyInstance } from 'fastify';
import { isObject } from '../../../shared/index.js';
import type { OpenApiDocument } from '../open-api.js';
import { html, type Html, htmlPage, styleSource, textWithCode } from '../browser-parts.js';

const pageStyle = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
article { margin: 1.5rem 0; padding: 0 1rem 0.5rem; border: 1px solid var(--line); border-radius: 6px; }
h3 { font-size: 1rem; } code, h3 { font-family: ui-monospace, monospace; }
ul { list-style: none; margin: 0; padding-left: 1.25rem; border-left: 1px solid var(--line); } ul + ul { margin-top: 0.5rem; }
`;

export function documentationPage({ info, tags, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, ...(operation as DescribedOperation) })),
  );
  const sections = tags.map(({ name, description }) => {
    const described = operations.filter((operation) => operation.tags.includes(name));
    return html`<h2 id="${name}">${name}</h2>
      <p>${textWithCode(description)}</p>
      ${described.map(operationArticle)}`;
  });
  const schemas = Object.entries(components['schemas'] as object);
  const body = html`<h1>${info.title} ${info.version}</h1>
    <p>${textWithCode(info.description)}</p>
    <p>Send <code>authorization: Bearer &lt;token&gt;</code>. For programs: <a href="openapi.json">openapi.json</a>.</p>
    ${sections}
    <h2 id="schemas">Schemas</h2>
    ${schemas.map(([name, schema]) => article(name, name, html``, schema))}`;
  return htmlPage(info.title, pageStyle, body);
}

/** The members of an operation that the page shows in a special way. */
interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly { readonly token: readonly string[] }[];
}

function operationArticle(described: DescribedOperation & { readonly path: string; readonly method: string }): Html {
  const { operationId, tags: _, summary, description = '', security, path, method, ...members } = described;
  const [needed] = security;
  const words = needed === undefined ? 'no token' : (needed.token[0] ?? 'any role');
  const text = html`<p>${summary}. ${textWithCode(description)}</p>`;
  return article(operationId, `${method.toUpperCase()} ${path} (${words})`, text, members);
}

function article(id: string, title: string, text: Html, members: unknown): Html {
  return html`<article id="${id}">
    <h3>${title}</h3>
    ${text}${render(members)}
  </article> `;
}

/** Any part of the document as HTML: a reference becomes a link, an object a list of its members, anything else text. */
function render(part: unknown): Html {
  if (Array.isArray(part)) {
    const separator = part.some(isObject) ? '' : ' | ';
    return html`${part.map((each, at) => html`${at === 0 ? '' : separator}${render(each)}`)}`;
  }
  if (!isObject(part)) return textWithCode(String(part));
  const { $ref, schema, ...others } = part;
  if (typeof $ref === 'string') return html`<a href="#${nameIn($ref)}">${nameIn($ref)}</a>`;
  if (schema !== undefined && Object.keys(others).length === 0) return render(schema);
  const members = Object.entries(part).map(([member, value]) => html`<li><code>${member}</code> ${render(value)}</li>`);
  return html`<ul>
    ${members}
  </ul>`;
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

export function mountDocumentationRoutes(app: FastifyInstance, document: OpenApiDocument): void {
  // Made when somebody asks for it: it takes as long as all else in this interface's start.
  let page: string | undefined;
  const policy = `default-src 'none'; ${styleSource(pageStyle)}; frame-ancestors 'none'`;
  app.get('/docs', { config: { isOpen: true } }, async (_request, reply) => {
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy);
    return (page ??= documentationPage(document));
  });
}
