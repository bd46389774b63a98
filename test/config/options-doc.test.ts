// docs/options.md is generated from the option tables, and has a section for each command.
import t from 'tap';
import { optionCommands, optionsPage } from '../docs/generated.js';
import { checkPage } from '../docs/page-check.js';

t.test('docs/options.md is what the option tables generate', async (t) => checkPage(t, await optionsPage()));

t.test('every command has a section, and every section a command', async (t) => {
  const { current } = await optionsPage();
  t.strictSame(
    [...current.matchAll(/^## (.*)$/gm)].map(([, title]) => title),
    [...optionCommands],
  );
});
