// Prepares the programs on the SDKs of Python and Go: a virtual environment for each version of the Python SDK and a Go binary, in a
// folder of their own that is reused until their sources change.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../support/gateway.js';

export interface SdkPrograms {
  /** The command to which era, URL and token are appended. */
  clientOf(sdk: string): readonly string[];
  /** The command to which the era is appended. */
  backendOf(sdk: string): readonly string[];
  /** The SDKs that are tried, with their versions. */
  readonly versions: readonly string[];
}

const run = promisify(execFile);
const SOURCES = join(projectRoot, 'test', 'eras', 'sdks');
const PYTHON = join(SOURCES, 'python');
const GO = join(SOURCES, 'go');
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;

/** @param directory where the programs are kept; rejects when Python, Go or one of their packages is not available. */
export async function prepareSdks(directory: string): Promise<SdkPrograms> {
  mkdirSync(directory, { recursive: true });
  const [one, two] = [await sdkEnvironment(directory, '1'), await sdkEnvironment(directory, '2')];
  const pythons = { 'Python 1': one, 'Python 2': two };
  const binary = await goProgram(directory);
  const commandOf = (sdk: string, role: 'client' | 'backend'): readonly string[] => {
    const python = Object.entries(pythons).find(([name]) => name === sdk)?.[1];
    return python === undefined ? [binary, role] : [python, join(PYTHON, `${role}${sdk.at(-1)}.py`)];
  };
  return {
    clientOf: (sdk) => commandOf(sdk, 'client'),
    backendOf: (sdk) => commandOf(sdk, 'backend'),
    versions: versionsOfAll(),
  };
}

/** The versions recorded beside the programs' sources. */
export function versionsOfOthers(): readonly string[] {
  const python = ['1', '2'].map((major) => readFileSync(join(PYTHON, requirementsOf(major)), 'utf8').split('==')[1]);
  const go = /go-sdk v(\S+)/.exec(readFileSync(join(GO, 'go.mod'), 'utf8'))?.[1];
  return [...python.map((version) => `Python ${version?.trim()}`), `Go ${go}`];
}

/** With those of the project's own. */
export function versionsOfAll(): readonly string[] {
  return [...versionsOfOwn(), ...versionsOfOthers()];
}

function versionsOfOwn(): readonly string[] {
  return ['sdk', 'client', 'server'].map((name) => {
    const manifest = join(projectRoot, 'node_modules', '@modelcontextprotocol', name, 'package.json');
    return `@modelcontextprotocol/${name} ${(JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version}`;
  });
}

function requirementsOf(major: string): string {
  return `requirements-${major}.txt`;
}

async function sdkEnvironment(directory: string, major: string): Promise<string> {
  return pythonEnvironment(join(directory, `python-${major}`), join(PYTHON, requirementsOf(major)));
}

/** @returns the interpreter of a virtual environment at this place with what the file names. */
export async function pythonEnvironment(place: string, requirements: string): Promise<string> {
  const interpreter = join(place, 'bin', 'python');
  await once(`${place}.made-of`, readFileSync(requirements, 'utf8'), async () => {
    rmSync(place, { recursive: true, force: true });
    await command('python3', ['-m', 'venv', place]);
    await command(interpreter, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements]);
  });
  return interpreter;
}

async function goProgram(directory: string): Promise<string> {
  const binary = join(directory, 'go-sdk');
  const files = readdirSync(GO).sort();
  const sources = files.map((name) => readFileSync(join(GO, name), 'utf8')).join('\0');
  await once(join(directory, 'go-sdk.made-of'), createHash('sha256').update(sources).digest('hex'), async () => {
    const caches = { GOMODCACHE: join(directory, 'go-modules'), GOCACHE: join(directory, 'go-build') };
    // Makes the downloaded modules removable like any other files.
    const environment = { ...process.env, ...caches, GOFLAGS: '-mod=readonly -modcacherw' };
    await command('go', ['build', '-o', binary, '.'], { cwd: GO, env: environment });
  });
  return binary;
}

export async function once(stamp: string, madeOf: string, make: () => Promise<void>): Promise<void> {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === madeOf) return;
  await make();
  writeFileSync(stamp, madeOf);
}

export async function command(
  program: string,
  words: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  try {
    await run(program, [...words], { ...options, maxBuffer: OUTPUT_BYTES_MAX });
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === 'ENOENT') throw new Error(`${program} is wanted for the SDKs of other languages, and is not there`);
    throw new Error(`${program} ${words.slice(0, 2).join(' ')} has failed: ${stderr.trim().split('\n').at(-1) ?? ''}`);
  }
}
