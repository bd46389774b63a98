// What callers of the control plane rely on, and programs that were generated from its OpenAPI document: its operations, and what they take
// and answer. It changes only on purpose: `WRITE_INTERFACE=1 node build/test/control-plane/http/interface.test.js` writes down what it is.
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { createOpenApiDocument } from '../../../src/control-plane/http/open-api.js';

const WRITTEN = new URL('../../../../test/control-plane/http/interface.txt', import.meta.url);
/** What is said to people. */
const WORDS: ReadonlySet<string> = new Set(['description', 'summary']);

type Json = Readonly<Record<string, unknown>>;

/** @param areNames whether the members are named by the interface, as properties are. @param onWords gets what is left out. */
function wordless(value: unknown, onWords: (words: unknown) => void, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => wordless(item, onWords));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name, member]) => {
    const isSaid = !areNames && WORDS.has(name);
    if (isSaid) onWords(member);
    return !isSaid;
  });
  return Object.fromEntries(
    members.map(([name, member]) => [name, wordless(member, onWords, !areNames && name === 'properties')]),
  );
}

function inShort(value: unknown): string {
  return JSON.stringify(value).replaceAll(/\{"\$ref":"#\/components\/schemas\/(\w+)"\}/g, '$1');
}

function contentsOf({ content = {} }: { readonly content?: Json }): string[] {
  return Object.entries(content).map(([type, each]) => `${type} ${inShort((each as Json)['schema'] ?? null)}`);
}

function operationLines(path: string, method: string, operation: Json): string[] {
  const { operationId, tags, security, parameters = [], requestBody, responses } = operation;
  const answers = Object.entries(responses as Json).map(([status, answer]) => {
    const { headers = {} } = answer as { readonly headers?: object };
    return [status, ...contentsOf(answer as object), ...Object.keys(headers)].join(' ');
  });
  return [
    `${method.toUpperCase()} ${path} ${String(operationId)} ${inShort(tags)} ${inShort(security)}`,
    ...(parameters as Json[]).map((each) => `  ${inShort(each)}`),
    ...(requestBody === undefined ? [] : [`  takes ${contentsOf(requestBody as object).join('; ')}`]),
    `  answers ${answers.join('; ')}`,
  ];
}

t.test('operations and schemas are what they were, and all are explained', async (t) => {
  const said: unknown[] = [];
  const document = createOpenApiDocument();
  const { paths, components } = wordless(document, (words) => said.push(words)) as typeof document;
  const { schemas = {}, securitySchemes } = components as Readonly<Record<string, Json>>;
  const told = [
    ...Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) => operationLines(path, method, operation as Json)),
    ),
    ...Object.entries(schemas).flatMap(([name, schema]) => {
      const { properties = {}, ...rest } = schema as { readonly properties?: object };
      return [`${name} ${inShort(rest)}`, ...Object.entries(properties).map((row) => `  ${row[0]} ${inShort(row[1])}`)];
    }),
    inShort(securitySchemes),
  ];
  if (process.env['WRITE_INTERFACE'] !== undefined) writeFileSync(WRITTEN, told.join('\n'));
  t.strictSame(told, readFileSync(WRITTEN, 'utf8').split('\n'));
  t.notOk(said.includes(''), 'with words');
});
