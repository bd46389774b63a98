// Prepares what the field is made of: the packages of npm beside the program, an environment of Python for each file in `requirements`,
// and the Go program that the matrix of eras has, too.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  command,
  once,
  prepareSdks,
  pythonEnvironment,
  versionsOfAll,
  type SdkPrograms,
} from '../eras/sdks/preparation.js';
import { projectRoot } from '../support/gateway.js';
import { tools } from './plan.js';

export const bridges = join(projectRoot, 'test', 'bridges', 'tools');
const requirements = join(projectRoot, 'test', 'field', 'requirements');

export interface Field {
  /** By the name of its file of requirements, or `python-1` and `python-2` for the SDK's newest of each. */
  python(environment: string): string;
  readonly sdks: SdkPrograms;
}

export async function prepareField(directory: string): Promise<Field> {
  mkdirSync(directory, { recursive: true });
  for (const place of [tools, bridges]) {
    const lock = readFileSync(join(place, 'package-lock.json'), 'utf8');
    await once(join(place, 'node_modules', '.made-of'), lock, () =>
      command('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false'], { cwd: place }),
    );
  }
  const sdks = await prepareSdks(directory);
  const pythons = new Map(['1', '2'].map((major) => [`python-${major}`, sdks.clientOf(`Python ${major}`)[0]!]));
  for (const file of readdirSync(requirements)) {
    const name = basename(file, '.txt');
    pythons.set(name, await pythonEnvironment(join(directory, name), join(requirements, file)));
  }
  return { python: (environment) => pythons.get(environment)!, sdks };
}

/** What was tried, as pinned beside the program. */
export function versionsOf(): string {
  const { dependencies } = JSON.parse(readFileSync(join(tools, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const npm = Object.entries(dependencies).map(([name, version]) =>
    version.startsWith('npm:') ? version.slice('npm:'.length) : `${name}@${version}`,
  );
  const pip = readdirSync(requirements).flatMap((file) =>
    readFileSync(join(requirements, file), 'utf8').trim().split('\n'),
  );
  return `With ${[...versionsOfAll(), ...npm, ...pip].join(', ')}.`;
}
