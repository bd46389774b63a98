import t from 'tap';
import { nameLike } from '../../src/shared/likeness.js';

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
  ['names', 'name'],
  ['URL', 'url'],
] as const) {
  t.test(`${name} looks like ${meant}`, async (t) => void t.equal(nameLike(name, known), meant));
}

t.test('an unrelated name resembles no known one', async (t) => {
  for (const name of ['description', 'tags', 'x-owner', 'server_name', '', '__proto__', 'id']) {
    t.equal(nameLike(name, known), undefined, name);
  }
});
