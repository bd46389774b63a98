// A copy of the built files, in a folder of its own, to which one mutant at a time is applied. The working tree is only
// read. Everything that is not built is linked, so that tests find documents, sources and packages.
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { mutate, nameOf, type Mutant } from './mutant.js';

/** Each built tree, and where the files of `src/` are in it. */
const TREES: Readonly<Record<string, string>> = {
  build: 'build/src',
  dist: 'dist',
  'dist-bootstrap': 'dist-bootstrap',
};
const NOT_IN_COPY = new Set(['.git', '.tap', 'data', ...Object.keys(TREES)]);

export class MutatedCopy {
  readonly path: string;
  readonly #root: string;
  readonly #compilerOptions: ts.CompilerOptions;

  /** @param root of the repository, built. */
  constructor(root: string) {
    this.#root = root;
    this.#compilerOptions = readCompilerOptions(root);
    this.path = mkdtempSync(join(tmpdir(), 'switchyard-mutation-'));
    for (const tree of Object.keys(TREES)) {
      const isWanted = (from: string): boolean => !from.endsWith('.map');
      cpSync(join(root, tree), join(this.path, tree), { recursive: true, filter: isWanted });
    }
    for (const name of readdirSync(root)) {
      if (!NOT_IN_COPY.has(name)) symlinkSync(join(root, name), join(this.path, name));
    }
  }

  /** @throws when the mutant does not fit its file, or is not valid TypeScript. */
  apply(mutant: Mutant): void {
    const source = mutate(this.#read(mutant.file), mutant);
    this.#build(mutant.file, source, nameOf(mutant));
  }

  /** Builds the file from its unchanged source, in the same way as a mutant. */
  restore(file: string): void {
    this.#build(file, this.#read(file), file);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #read(file: string): string {
    return readFileSync(join(this.#root, file), 'utf8');
  }

  #build(file: string, source: string, what: string): void {
    const { outputText, diagnostics = [] } = ts.transpileModule(source, {
      compilerOptions: this.#compilerOptions,
      fileName: join(this.#root, file),
      reportDiagnostics: true,
    });
    const [first] = diagnostics;
    if (first !== undefined) throw new Error(`${what}\n  ${ts.flattenDiagnosticMessageText(first.messageText, ' ')}`);
    for (const path of this.#builtFiles(file)) writeFileSync(join(this.path, path), outputText);
  }

  /**
   * A file of the optional feature is missing from some trees.
   * @throws when any other file is missing from one, as with bundles: a mutant that a program does not contain would survive.
   */
  #builtFiles(file: string): string[] {
    const [, ...parts] = file.replace(/\.ts$/, '.js').split('/');
    const paths = Object.values(TREES).map((folder) => join(folder, parts.join(sep)));
    const built = paths.filter((path) => existsSync(join(this.#root, path)));
    if (built.length < paths.length && parts[0] !== 'bootstrap') {
      throw new Error(`${file} is not in each of ${paths.join(', ')}: run npm run build:by-file`);
    }
    return built;
  }
}

function readCompilerOptions(root: string): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    readonly config: { readonly compilerOptions: unknown };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  // A single file does not show that its package consists of ES modules.
  const { ESNext: module } = ts.ModuleKind;
  return { ...options, module, moduleResolution: ts.ModuleResolutionKind.Bundler, sourceMap: false };
}
