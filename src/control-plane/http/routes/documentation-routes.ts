// The documentation of the HTTP interface for people, generated once.
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { OpenApiDocument } from '../open-api.js';
import { html, Html, prose } from '../html.js';
import type { JsonSchema } from '../../common/schema-parts.js';

// Renders the OpenAPI document for people: one HTML page with inline style, no script, and nothing to load.

const pageStyle = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
article { margin: 1.5rem 0; padding: 0 1rem 0.5rem; border: 1px solid var(--line); border-radius: 6px; }
h3 { font-size: 1rem; } h4 { margin: 1rem 0 0.25rem; font-size: 0.85rem; opacity: 0.7; }
code, .path { font-family: ui-monospace, monospace; font-size: 0.9em; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
.open { font-weight: 400; opacity: 0.7; }
table { border-collapse: collapse; width: 100%; } td { padding: 0.2rem 0.75rem 0.2rem 0; vertical-align: top; }
tr + tr td { border-top: 1px solid var(--line); } td:first-child { white-space: nowrap; width: 12rem; }
`;

/** In one piece: the content security policy has the hash of its exact bytes. */
const styleElement = new Html(`<style>${pageStyle}</style>`);

/** The parts of the document that the page uses; open-api.ts guarantees their shapes. */
interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Contents }>>;
  readonly security: readonly { readonly token: readonly string[] }[];
}

type Contents = Readonly<Record<string, { readonly schema: JsonSchema }>>;

export function documentationPage(document: OpenApiDocument): string {
  const { info, tags } = document;
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as Described })),
  );
  const sections = tags.map(({ name, description }) => {
    const articles = described
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ path, method, operation }) => operationArticle(path, method, operation));
    return html`<section>
      <h2 id="${name}">${name}</h2>
      <p>${prose(description)}</p>
      ${articles}
    </section>`;
  });
  const schemas = Object.entries(document.components['schemas'] as Readonly<Record<string, JsonSchema>>);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${info.title}</title>
        ${styleElement}
      </head>
      <body>
        <h1>${info.title} ${info.version}</h1>
        <p>${prose(info.description)}</p>
        <p>
          Send <code>authorization: Bearer &lt;token&gt;</code>. For programs: <a href="openapi.json">openapi.json</a>.
        </p>
        ${sections}
        <section>
          <h2 id="schemas">Schemas</h2>
          ${schemas.map(([name, schema]) => schemaArticle(name, schema))}
        </section>
      </body>
    </html> `.text;
}

function operationArticle(path: string, method: string, operation: Described): Html {
  const { operationId, summary, description = '', parameters = [], requestBody, responses, security } = operation;
  const [needed] = security;
  const words = needed === undefined ? 'no token' : (needed.token[0] ?? 'any role');
  const note = html` <span class="open">(${words})</span>`;
  return html`<article id="${operationId}">
    <h3><span class="method">${method.toUpperCase()}</span> <span class="path">${path}</span>${note}</h3>
    <p>${summary}. ${prose(description)}</p>
    ${
      requestBody === undefined
        ? ''
        : html`<h4>Body</h4>
            <p>${contentsWords(requestBody.content)}</p>`
    }
    ${rows(
      'Parameters',
      parameters.map(({ name, in: place, schema }) => [name, memberWords(schema, `in ${place}`)]),
    )}
    ${rows(
      'Answers',
      Object.entries(responses).map(([status, { description: words, content = {} }]) => [
        status,
        html`${prose(words)} ${contentsWords(content)}`,
      ]),
    )}
  </article> `;
}

function schemaArticle(name: string, schema: JsonSchema): Html {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema['required'] ?? []) as readonly string[];
  const members = Object.entries(properties)
    .filter(([, member]) => member['readOnly'] !== true)
    .map(([member, its]): [string, Html] => [member, memberWords(its, required.includes(member) ? '' : 'optional')]);
  const words = typeof schema['description'] === 'string' ? html`<p>${prose(schema['description'])}</p>` : '';
  return html`<article id="${name}">
    <h3>${name}</h3>
    ${words}${rows('Members', members)}
  </article> `;
}

function rows(title: string, entries: readonly (readonly [string, Html])[]): Html {
  if (entries.length === 0) return html``;
  const lines = entries.map(
    ([name, words]) =>
      html`<tr>
        <td><code>${name}</code></td>
        <td>${words}</td>
      </tr>`,
  );
  return html`<h4>${title}</h4>
    <table>
      ${lines}
    </table>`;
}

/** A schema's type, the note, and the schema's description. */
function memberWords(schema: JsonSchema, note: string): Html {
  const description = typeof schema['description'] === 'string' ? schema['description'] : '';
  const words = [typeWords(schema), note].filter((word) => word !== '').join(', ');
  return html`${words}${words === '' || description === '' ? '' : '. '}${prose(description)}`;
}

function typeWords(schema: JsonSchema): string {
  const { type, items, enum: choices } = schema as { type?: unknown; items?: JsonSchema; enum?: readonly unknown[] };
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(' or ');
  if (items !== undefined) return `list of ${typeWords(items)}s`;
  return Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : '';
}

function contentsWords(contents: Contents): Html {
  return html`${Object.entries(contents).map(([mediaType, { schema }], index) => {
    const separator = index === 0 ? '' : ' or ';
    const name = referenceOf(schema);
    if (name === undefined) return html`${separator}<code>${mediaType}</code>`;
    const list = schema['type'] === 'array' ? 'list of ' : '';
    return html`${separator}${list}<a href="#${name}">${name}</a>`;
  })}`;
}

function referenceOf(schema: JsonSchema): string | undefined {
  const { $ref, items } = schema as { $ref?: string; items?: { $ref?: string } };
  return ($ref ?? items?.$ref)?.split('/').at(-1);
}

export function mountDocumentationRoutes(app: FastifyInstance, document: OpenApiDocument): void {
  const page = documentationPage(document);
  // The page's style is inline; nothing else may be loaded or run.
  const styleHash = createHash('sha256').update(pageStyle).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`;
  app.get('/docs', { config: { isOpen: true } }, async (_request, reply) => {
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy);
    return page;
  });
}
