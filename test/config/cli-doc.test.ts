// docs/cli.md and the declarations and exit statuses of the commands for people agree, both ways.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { commands } from '../../src/commands.js';
import {
  environmentVariable,
  fallbackText,
  optionsOf,
  type Option,
  operandAsWritten,
  type CommandDeclaration,
} from '../../src/config/option.js';
import { exitStatus } from '../../src/shared/program.js';
import { storeOptions } from '../../src/config/table/store-options.js';

const documentation = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
const isOfSecrets = (name: string): boolean => name.startsWith('secrets ');
const cliCommands = Object.entries<CommandDeclaration>(commands).filter(
  ([name]) => !['dataplane', 'control-plane', 'token'].includes(name) && !isOfSecrets(name),
);

/** The cells of the rows of a section's table. */
function rowsOf(title: string): string[][] {
  const section = documentation.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

t.test('every command with its operands', async (t) => {
  const declared = cliCommands.map(([name, { summary, operands = [] }]) => [
    `\`${['switchyard', name, ...operands.map(operandAsWritten)].join(' ')}\``,
    summary,
  ]);
  t.ok(declared.length > 0);
  t.strictSame(rowsOf('Commands'), declared);
});

t.test('every option, with the commands that take it', async (t) => {
  const takers = new Map<string, string[]>();
  for (const [name, { options }] of cliCommands) {
    for (const row of optionRows(withoutStore(optionsOf(options))))
      takers.set(JSON.stringify(row), [...(takers.get(JSON.stringify(row)) ?? []), name]);
  }
  const declared = [...takers].map(([row, names]) => [takersInWords(names), ...(JSON.parse(row) as string[])]);
  t.strictSame(rowsOf('Options').sort(), declared.sort());
});

t.test('every command for secrets is in docs/credentials.md, with the options that are its own', async (t) => {
  const page = readFileSync(new URL('../../../docs/credentials.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `switchyard secrets '));
  const declared = Object.entries<CommandDeclaration>(commands).filter(([name]) => isOfSecrets(name));
  t.equal(rows.length, declared.length);
  for (const [name, { options, operands = [], summary }] of declared) {
    const row =
      rows.find((line) => line.includes(`\`${['switchyard', name, ...operands.map(operandAsWritten)].join(' ')}\``)) ??
      '';
    t.ok(row.includes(summary), name);
    const required = optionsOf(options).filter(({ isRequired }) => isRequired);
    for (const { name: option } of required) t.ok(row.includes(`\`--${option}\``), `${name} needs --${option}`);
  }
});

t.test('every exit status', async (t) => {
  const documented = rowsOf('Exit status').map(([status]) => Number(status));
  const { software, cannotCreate, ...others } = exitStatus;
  t.notOk(documented.includes(software) || documented.includes(cannotCreate), 'the planes end with these alone');
  t.strictSame(
    documented,
    Object.values(others).sort((a, b) => a - b),
  );
});

t.test('the exit statuses of the planes', async (t) => {
  const text = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith('Exit status\n')) ?? '';
  const documented = Array.from(section.matchAll(/^\| (\d+) +\|/gm), ([, status]) => Number(status));
  const { ok, usage, unavailable, software, cannotCreate } = exitStatus;
  t.strictSame(documented, [ok, usage, unavailable, software, cannotCreate]);
});

function optionRows(options: readonly Option<unknown>[]): string[][] {
  return options.map((option) => [
    `\`--${option.name} ${option.placeholder}\``,
    `\`${environmentVariable(option.name)}\``,
    fallbackText(option),
    option.meaning,
  ]);
}

/** The options without those of the store, which are documented with the dataplane's options. */
function withoutStore(options: readonly Option<unknown>[]): readonly Option<unknown>[] {
  const ofStore = new Set(optionsOf(storeOptions.options));
  const hasStore = [...ofStore].every((option) => options.includes(option));
  return hasStore ? options.filter((option) => !ofStore.has(option)) : options;
}

/** The commands that take an option; a group stands for its commands when all of them take it. */
function takersInWords(names: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const [name] of cliCommands) groups.set(groupOf(name), [...(groups.get(groupOf(name)) ?? []), name]);
  const words: string[] = [];
  for (const [group, members] of groups) {
    const takers = members.filter((name) => names.includes(name));
    const isWhole = members.length > 1 && takers.length === members.length;
    words.push(...(isWhole ? [`${group} …`] : takers));
  }
  return words.map((name) => `\`${name}\``).join(', ');
}

function groupOf(name: string): string {
  return name.split(' ', 1)[0] ?? '';
}
