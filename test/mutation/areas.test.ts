// Every mutant in the list fits its source, so that the list is updated together with the lines that it changes.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { projectRoot } from '../support/gateway.js';
import { areas } from './areas.js';
import { mutate } from './mutant.js';
import { testFile } from './test-process.js';

for (const [area, mutants] of Object.entries(areas)) {
  t.test(area, async (t) => {
    for (const mutant of mutants) {
      t.doesNotThrow(() => mutate(readFileSync(join(projectRoot, mutant.file), 'utf8'), mutant), mutant.slip);
      for (const test of mutant.noticedBy) {
        t.ok(existsSync(testFile(join(projectRoot, 'test'), test, 'ts')), `${mutant.slip}: there is a test ${test}`);
      }
    }
  });
}
