import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['build/', 'dist/', 'dist-bootstrap/', 'dist-quickstart/', 'node_modules/', 'data/', '.tap/'] },
  ...tseslint.configs.recommendedTypeChecked.map((config) => ({ ...config, files: ['**/*.ts', '**/*.tsx'] })),
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './ui/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Methods of an interface that answers with promises are async whether or not this implementation waits.
      '@typescript-eslint/require-await': 'off',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // tap runs and awaits its subtests by itself.
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafePromises: [{ from: 'package', package: '@tapjs/core', name: 'PromiseWithSubtest' }] },
      ],
    },
  },
  {
    // Longer ones hold more than the one thing that they are named after.
    files: ['src/**/*.ts', 'ui/**/*.ts', 'ui/**/*.tsx', 'demo/**/*.ts'],
    rules: { 'max-lines': ['error', 600] },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 20],
    },
  },
  {
    // What a process, or its fleet, is made of, one part after the other: in pieces it would have to be handed around.
    files: ['src/worker/worker.ts', 'src/control-plane/control-plane.ts', 'src/primary/run-primary.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    // A list of routes, of which some share what they come through.
    files: ['src/control-plane/http/routes/connect-routes.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    // A switch: over the messages of the primary, and over the bytes of JSON, where a call for each would be dear.
    files: ['src/worker/main.ts', 'src/bytes/json-scanner.ts'],
    rules: { complexity: 'off' },
  },
  {
    // Programs for people at a terminal.
    files: ['bench/**/*.ts', 'demo/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
);
