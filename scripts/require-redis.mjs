// Before the tests: finds redis-server, or installs it where no permission is needed, or says in one line what to do.
import { spawnSync } from 'node:child_process';

const isThere = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

if (!isThere('redis-server') && process.getuid?.() === 0 && isThere('apt-get')) {
  console.error('redis-server is missing: installing it with apt-get');
  const options = {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  spawnSync('apt-get', ['update', '-qq'], options);
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], options);
}
if (!isThere('redis-server')) {
  console.error('The tests need redis-server: install it, for example with `sudo apt-get install redis-server`.');
  process.exit(1);
}
