// Checks the control plane's responses against its OpenAPI document: each response must be described there, down to every
// member and header.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { HttpAnswer } from './raw-http.js';

interface ResponseObject {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Headers of HTTP itself, or of every response, which the document need not describe. */
const HEADERS_OF_OTHERS =
  /^(date|connection|keep-alive|content-(type|length|security-policy)|transfer-encoding|cache-control|vary|allow|x-.*|referrer-policy|cross-origin-resource-policy|access-control-.*)$/;

/** Statuses that HTTP itself causes, before the endpoint is known. */
const STATUSES_OF_HTTP: ReadonlySet<number> = new Set([408, 414, 431]);

export class ApiContract {
  readonly #document: ApiDocument;
  readonly #ajv: Ajv2020;

  constructor(document: ApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'api');
  }

  /** @returns what the document does not describe about the response; empty when it conforms. */
  faultsOf(method: string, path: string, answer: HttpAnswer): string[] {
    const template = this.#templateOf(path);
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[method.toLowerCase()];
    if (template === undefined || operation === undefined) return this.#faultsOfUnknown(answer);
    if (STATUSES_OF_HTTP.has(answer.status)) return this.#schemaFaults('#/components/schemas/Error', answer);
    const response = operation.responses[String(answer.status)];
    if (response === undefined) return [`${method} ${template} answers ${answer.status}, which is not told`];
    const place = ['paths', template, method.toLowerCase(), 'responses', String(answer.status)];
    return [...headerFaults(response, answer), ...this.#bodyFaults(place, response, answer)];
  }

  /** A path or method that the document lacks must be refused, with the usual error envelope. */
  #faultsOfUnknown(answer: HttpAnswer): string[] {
    if (![204, 400, 401, 403, 404, 405, 429].includes(answer.status) && !STATUSES_OF_HTTP.has(answer.status))
      return [`answers ${answer.status}`];
    return answer.status === 204 ? [] : this.#schemaFaults('#/components/schemas/Error', answer);
  }

  #bodyFaults(place: readonly string[], response: ResponseObject, answer: HttpAnswer): string[] {
    const types = Object.keys(response.content ?? {});
    if (types.length === 0) return answer.body.length === 0 ? [] : ['has a body, and none is told'];
    if (!types.includes(answer.contentType)) return [`is ${answer.contentType}, and told as ${types.join(', ')}`];
    if (answer.contentType !== 'application/json') return [];
    const pointer = [...place, 'content', answer.contentType, 'schema'].map(
      (step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`,
    );
    return this.#schemaFaults(`#${pointer.join('')}`, answer);
  }

  #schemaFaults(fragment: string, answer: HttpAnswer): string[] {
    const validate = this.#ajv.getSchema(`api${fragment}`);
    if (validate === undefined) return [`no schema at ${fragment}`];
    if (validate(answer.json()) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the body'} ${message}`);
  }

  #templateOf(path: string): string | undefined {
    const [bare = ''] = path.split('?', 1);
    return Object.keys(this.#document.paths).find((template) =>
      new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(bare),
    );
  }
}

function headerFaults(response: ResponseObject, answer: HttpAnswer): string[] {
  const told = Object.keys(response.headers ?? {});
  return answer.headers
    .map(([name]) => name.toLowerCase())
    .filter((name) => !HEADERS_OF_OTHERS.test(name) && !told.includes(name))
    .map((name) => `carries ${name}, which is not told`);
}
