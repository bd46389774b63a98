import t from 'tap';
import { closestName } from '../../src/config/closest-name.js';

const known = [
  'name',
  'url',
  'transport',
  'allowed_tool_names',
  'allowed_prompt_names',
  'passthrough_headers',
  'exposes',
];

for (const [name, meant] of [
  ['allowed_tools', 'allowed_tool_names'],
  ['allowedToolNames', 'allowed_tool_names'],
  ['allow_tool_name', 'allowed_tool_names'],
  ['tools', 'allowed_tool_names'],
  ['prompts', 'allowed_prompt_names'],
  ['headers', 'passthrough_headers'],
  ['expose', 'exposes'],
  ['trasnport', 'transport'],
  ['rtanspotr', 'transport'],
  ['names', 'name'],
  ['URL', 'url'],
] as const) {
  t.test(`${name} looks like ${meant}`, async (t) => void t.equal(closestName(name, known), meant));
}

t.test('an unrelated name resembles no known one', async (t) => {
  for (const name of ['description', 'tags', 'x-owner', 'server_name', '', '__proto__', 'id']) {
    t.equal(closestName(name, known), undefined, name);
  }
});

t.test('a short name is corrected only where no other name could be right', async (t) => {
  for (const name of ['ulr', 'uri', 'ur', 'rul']) {
    t.equal(closestName(name, known), undefined, name);
    t.equal(closestName(name, known, 1), 'url', name);
  }
  for (const name of ['id', 'lru', 'x']) t.equal(closestName(name, known, 1), undefined, name);
});
