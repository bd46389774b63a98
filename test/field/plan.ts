// What the field asks of its clients, and what they report.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../support/gateway.js';

/** `ask` is a call that asks the user. */
export type StepName =
  'tools' | 'prompts' | 'resources' | 'templates' | 'call' | 'ask' | 'progress' | 'prompt' | 'read';

/** A step; the name of what it is for, or its URI; arguments. */
export type Step = readonly [step: StepName, name?: string, words?: Readonly<Record<string, unknown>>];

/** One session of a client. */
export interface Plan {
  readonly url: string;
  readonly token?: string | undefined;
  /** What the user answers to questions. */
  readonly answer?: Readonly<Record<string, string>> | undefined;
  readonly steps: readonly Step[];
}

export interface StepReport {
  readonly value?: unknown;
  readonly error?: string;
  /** The client has no such thing. */
  readonly lacks?: string;
}

export interface Report {
  /** As negotiated, if the client says so. */
  readonly version?: string | null | undefined;
  readonly steps: readonly StepReport[];
  /** Why the session ended before its plan did. */
  readonly ended?: string;
}

export const tools = join(projectRoot, 'test', 'field', 'tools');
export const modules = join(tools, 'node_modules');

/** @param sdk `sdk` is the project's own; otherwise a folder among the tools. */
export async function importSdk<Module>(sdk: string, path: string): Promise<Module> {
  const folder = sdk === 'sdk' ? join(projectRoot, 'node_modules', '@modelcontextprotocol', 'sdk') : join(modules, sdk);
  return (await import(pathToFileURL(join(folder, 'dist', 'esm', path)).href)) as Module;
}
