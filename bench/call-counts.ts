// Loaded into a gateway's processes (`--import`). The first SIGUSR2 begins to count which functions run; the second writes the counts, as
// V8 gives them, to the folder of CALL_COUNTS and stops.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const folder = process.env['CALL_COUNTS'];
if (folder !== undefined) {
  const inspector = new Session();
  let isCounting = false;
  process.on('SIGUSR2', () => {
    if (isCounting) {
      inspector.post('Profiler.takePreciseCoverage', (_, { result }) => {
        writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(result));
      });
      inspector.post('Profiler.stopPreciseCoverage');
    } else {
      inspector.connect();
      inspector.post('Profiler.enable');
      inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
      writeFileSync(join(folder, `${process.pid}.counting`), '');
    }
    isCounting = !isCounting;
  });
}
