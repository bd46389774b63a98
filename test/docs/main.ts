// `npm run docs`: writes the generated parts of docs/.
import { writeFileSync } from 'node:fs';
import { generatedPages } from './generated.js';

for (const { name, path, current, text, faults } of await generatedPages()) {
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else if (text !== current) writeFileSync(path, text);
  process.stdout.write(`docs/${name}: ${faults.length > 0 ? 'left' : text === current ? 'as it was' : 'written'}\n`);
}
