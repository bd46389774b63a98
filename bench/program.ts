// How a bench program starts and ends: a wrong command line is told with the usage, and nothing that it started outlives it.

const EXIT_USAGE = 64;

/** Does not return. @param run answers the exit status. */
export async function runProgram<Options>(
  usage: string,
  parse: (words: readonly string[]) => Options,
  run: (options: Options) => Promise<number>,
): Promise<never> {
  // What it started has process groups of its own, and would outlive the terminal, too.
  process.once('SIGHUP', () => process.exit(129));
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  let options: Options;
  try {
    options = parse(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exit(EXIT_USAGE);
  }
  // The children and the channels to them would keep the process alive; they are killed as it exits.
  try {
    process.exit(await run(options));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
