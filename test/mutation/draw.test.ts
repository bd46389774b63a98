import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { drawMutants, randomNumbers, sampleOf } from './draw.js';

const items = Array.from({ length: 100 }, (_, at) => at);

void t.test('the same seed draws the same mutants of a package, and another seed others', (t) => {
  const drawn = sampleOf(items, 10, randomNumbers(1, 'auth'));
  t.equal(new Set(drawn).size, 10);
  t.same(drawn, sampleOf(items, 10, randomNumbers(1, 'auth')));
  t.notSame(drawn, sampleOf(items, 10, randomNumbers(2, 'auth')));
  t.notSame(drawn, sampleOf(items, 10, randomNumbers(1, 'store')));
  t.same(sampleOf(items, Infinity, randomNumbers(1, 'auth')), items);
  t.end();
});

void t.test(
  'a mutant says where it is and what it changes, and the wording of errors and of logs is not mutated',
  async (t) => {
    const root = t.testdir();
    mkdirSync(join(root, 'src/sample'), { recursive: true });
    const source = 'src/sample/bound.ts';
    const lines = ['export function bound(count: number): number {', '  if (count < 3) return count;'];
    lines.push("  logger?.warn('too many');", "  logger.warn('too many');");
    writeFileSync(join(root, source), [...lines, "  throw new Error('too ' + 'many');", '}', ''].join('\n'));
    const { mutants, generated, instrumented } = await drawMutants(
      root,
      { name: 'sample', sources: [source] },
      Infinity,
      1,
    );
    t.equal(mutants.length, generated);
    t.ok(mutants.some(({ line, from, to }) => line === 2 && from === 'count < 3' && to === 'count <= 3'));
    t.notOk(mutants.some(({ operator }) => operator === 'StringLiteral'));
    for (const { id } of mutants) t.ok(instrumented.get(source)?.includes(`"${id}"`), id);
  },
);
