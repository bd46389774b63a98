// docs/options.md and the option tables say the same, both ways.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { environmentVariable, fallbackText, type OptionTable } from '../../src/config/option.js';
import { controlPlaneOptionTable, dataplaneOptionTable, tokenOptionTable } from '../../src/config/option-table.js';

const documentation = readFileSync(new URL('../../../docs/options.md', import.meta.url), 'utf8');

/** The cells of the table's rows in the section of a command. */
function documentedRows(command: string): string[][] {
  const section = documentation.split(/^## /m).find((text) => text.startsWith(`${command}\n`)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| `--'));
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

function tableRows(table: OptionTable): string[][] {
  return Object.entries(table).map(([name, option]) => [
    `\`--${name} ${option.placeholder}\``,
    `\`${environmentVariable(name)}\``,
    fallbackText(option),
    option.meaning,
  ]);
}

const tables = { dataplane: dataplaneOptionTable, 'control-plane': controlPlaneOptionTable, token: tokenOptionTable };

for (const [command, table] of Object.entries(tables)) {
  t.test(`every option of ${command} is documented, and nothing else is`, async (t) => {
    t.ok(Object.keys(table).length > 0);
    t.strictSame(documentedRows(command), tableRows(table));
  });
}

t.test('every section belongs to a command', async (t) => {
  t.strictSame(
    [...documentation.matchAll(/^## (.*)$/gm)].map(([, title]) => title),
    Object.keys(tables),
  );
});
