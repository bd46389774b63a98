import { readFileSync } from 'node:fs';
import t from 'tap';
import { PROGRAM_VERSION } from '../../src/shared/program.js';

t.test('the version is the one in package.json', async (t) => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  t.equal(PROGRAM_VERSION, (JSON.parse(text) as { version: string }).version);
});
