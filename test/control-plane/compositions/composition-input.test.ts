import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { checkCompositionInput } from '../../../src/control-plane/compositions/composition-input.js';
import type { CompositionInput } from '../../../src/control-plane/compositions/composition.js';
import { limits } from '../../../src/shared/limits.js';

const sound: CompositionInput = { name: 'Desk 1', servers: [{ name: 'files', tools: ['read'] }] };

t.test('absent members stay open, and repeated entries count once', async (t) => {
  t.same(checkCompositionInput(sound), { ...sound, description: undefined, subjects: undefined });
  const checked = checkCompositionInput({
    ...sound,
    servers: [{ name: 'files', tools: ['read', 'write', 'read'] }],
    subjects: ['alice', 'bob', 'alice'],
  });
  t.same(checked.servers[0]?.tools, ['read', 'write']);
  t.same(checked.subjects, ['alice', 'bob']);
  t.same(checkCompositionInput({ ...sound, servers: [], subjects: [] }).subjects, [], 'nobody and nothing is allowed');
});

t.test('prompts and resources may replace tools, and are left out where there are none', async (t) => {
  const servers = [{ name: 'files', tools: [], prompts: ['a', 'a'], resources: ['test://{+path*}'] }];
  t.same(checkCompositionInput({ ...sound, servers }).servers, [{ ...servers[0], prompts: ['a'] }]);
  const withNone = [{ name: 'files', tools: ['read'], prompts: [], resources: [] }];
  t.same(checkCompositionInput({ ...sound, servers: withNone }).servers, sound.servers);
});

t.test('the member at fault is named', async (t) => {
  const rows: readonly (readonly [member: string, input: CompositionInput])[] = [
    ['name', { ...sound, name: '' }],
    ['name', { ...sound, name: 'a/b' }],
    ['name', { ...sound, name: ' a' }],
    ['name', { ...sound, name: 'x'.repeat(limits.serverNameCharsMax + 1) }],
    ['name', { ...sound, name: '0123456789abcdefABCDEF0123456789' }],
    ['description', { ...sound, description: 'x'.repeat(limits.serverDescriptionCharsMax + 1) }],
    ['description', { ...sound, description: '\ud800' }],
    ['servers.1.tools', { ...sound, servers: [...sound.servers, { name: 'b', tools: [] }] }],
    ['servers.0.tools.1', { ...sound, servers: [{ name: 'files', tools: ['read', ''] }] }],
    ['servers.0.tools.0', { ...sound, servers: [{ name: 'files', tools: ['\udfff'] }] }],
    ['servers.0.tools', { ...sound, servers: [{ name: 'files', tools: 'read' }] }],
    ['servers.0.tools', { ...sound, servers: [{ name: 'files', tools: Array(9).fill('a*') }] }],
    ['servers.0.tools.1', { ...sound, servers: [{ name: 'files', tools: ['a*', `${'x'.repeat(128)}*`] }] }],
    ['servers.0.tools', { ...sound, servers: [{ name: 'files', tools: [], prompts: [], resources: [] }] }],
    ['servers.0.prompts.1', { ...sound, servers: [{ name: 'files', tools: [], prompts: ['a', 'b*'] }] }],
    ['servers.0.prompts.0', { ...sound, servers: [{ name: 'files', tools: ['read'], prompts: [''] }] }],
    ['servers.0.resources.0', { ...sound, servers: [{ name: 'files', tools: ['read'], resources: ['\ud800'] }] }],
    ['subjects.1', { ...sound, subjects: ['alice', ''] }],
    ['subjects.0', { ...sound, subjects: ['\ud800'] }],
    ['subjects.0', { ...sound, subjects: ['x'.repeat(limits.storeKeyBytesMax + 1)] }],
    ['subjects', { ...sound, subjects: Array.from({ length: limits.compositionSubjectsMax + 1 }, String) }],
  ];
  for (const [member, input] of rows) {
    try {
      checkCompositionInput(input);
      t.fail(`${member} passed`);
    } catch (error) {
      t.ok(error instanceof ControlPlaneFault);
      t.match(error, { code: 'invalid', message: new RegExp(`^${member} `) });
    }
  }
});
