// The clients of the field: each is a program that carries out plans, one after the other.
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { projectRoot } from '../support/gateway.js';
import type { Field } from './preparation.js';

export interface FieldClient {
  readonly label: string;
  command(field: Field, scratch: string): readonly string[];
}

const ownProgram = fileURLToPath(new URL('client.js', import.meta.url));
const pythonProgram = join(projectRoot, 'test', 'field', 'programs', 'client.py');

const own = (label: string, kind: string): FieldClient => ({
  label,
  command: (_field, scratch) => [process.execPath, ownProgram, kind, scratch],
});
const python = (label: string, environment: string, kind: string): FieldClient => ({
  label,
  command: (field) => [field.python(environment), pythonProgram, kind],
});

export const CLIENTS: readonly FieldClient[] = [
  own('plain HTTP', 'raw'),
  own('TypeScript 1.10', 'sdk-1.10'),
  own('TypeScript 1.12', 'sdk-1.12'),
  own('TypeScript 1.32', 'sdk'),
  own('TypeScript 2.4', 'modern'),
  own('mcp-remote', 'mcp-remote'),
  own('Inspector', 'inspector'),
  python('Python 1.8', 'mcp-1.8', 'mcp1'),
  python('Python 1.30', 'python-1', 'mcp1'),
  python('Python 2.3', 'python-2', 'mcp2'),
  python('fastmcp 2', 'fastmcp-2', 'fastmcp'),
  python('fastmcp 4', 'fastmcp-4', 'fastmcp'),
  python('LangChain', 'agents', 'langchain'),
  python('OpenAI Agents', 'agents', 'openai_agents'),
  python('Pydantic AI', 'agents', 'pydantic_ai'),
  python('mcp-use', 'mcp-use', 'mcp_use'),
  { label: 'Go 1.8', command: ({ sdks }) => [sdks.clientOf('Go')[0]!, 'field-client'] },
];
