// How the control plane's responses are shown to people.
import t from 'tap';
import { serverView } from '../../src/cli/views.js';

const SERVER = {
  ...{ id: 'i', name: 'n', slug: 's', description: '', tags: [], status: 'active', enabled: true },
  ...{ toolCount: 1, lastSeen: null, lastError: null },
};

t.test('a server that dataplanes refuse by default has a note that names their option', async (t) => {
  const note = /^note +plain HTTP: .* --upstream-connection-mode plain-text-or-tls$/m;
  for (const url of ['http://a.example/mcp', 'HTTP://a.example/mcp']) t.match(serverView({ ...SERVER, url }), note);
  t.notMatch(serverView({ ...SERVER, url: 'https://a.example/mcp' }), /^note/m);
});
