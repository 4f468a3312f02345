import { builtinModules } from 'node:module'
import importX from 'eslint-plugin-import-x'
import tseslint from 'typescript-eslint'
import { MAY_IMPORT, PACKAGE_MAY_IMPORT } from './scripts/may-import.ts'
import { noLookupByName } from './scripts/no-lookup-by-name.ts'

const FOLDERS = Object.keys(MAY_IMPORT)
const isInside = (folder, outer) => folder.startsWith(`${outer}/`)
/** A folder alone, where others inside it have rules of their own. */
const only = (folder) =>
  FOLDERS.some((other) => isInside(other, folder)) ? `./src/${folder}/*.ts` : `./src/${folder}`

/** What `target` may import of src: what it lists, and of that no folder inside that it does not list too. */
function zonesOf(target, name, allowed) {
  const hidden = FOLDERS.filter(
    (folder) => !allowed.includes(folder) && allowed.some((outer) => isInside(folder, outer)),
  )
  const names = allowed.map((folder) => `src/${folder}`).join(', ')
  const message = `${name} may import of src only ${names || 'nothing'} (ARCHITECTURE.md).`
  return [
    { target, from: './src', except: allowed.map((folder) => `./${folder}`), message },
    ...hidden.map((folder) => ({ target, from: `./src/${folder}`, message })),
  ]
}

const zones = [
  ...Object.entries(MAY_IMPORT).flatMap(([folder, allowed]) =>
    zonesOf(only(folder), `src/${folder}`, [folder, ...allowed]),
  ),
  ...Object.entries(PACKAGE_MAY_IMPORT).flatMap(([name, allowed]) =>
    zonesOf(`./packages/${name}`, `packages/${name}`, allowed),
  ),
]

const COMMAND_FILES = Object.entries(PACKAGE_MAY_IMPORT)
  .filter(([, allowed]) => allowed.length > 0)
  .map(([name]) => `./${name}/${name}-command.ts`)

zones.push(
  ...[...FOLDERS, 'app', 'main.ts'].map((folder) => ({
    target: `./src/${folder}`,
    from: './packages',
    except: folder === 'cli' ? COMMAND_FILES : [],
    message: 'Of the packages only src/cli knows, and of each its command (ARCHITECTURE.md).',
  })),
)

const NO_BARRELS = { selector: 'ExportAllDeclaration', message: 'Name what is exported; no barrels.' }

const CORES = [
  'model/**',
  'graph/**',
  'linker/**',
  'kube/inference/**',
  'query/*.ts',
  'query/traceql/**',
  'query/http/**',
].map((files) => `src/${files}`)

export default tseslint.config(
  {
    ignores: [
      'node_modules',
      'data',
      'coverage',
      'dist',
      '**/golden/**',
      'examples/operator/**',
      'examples/federation/**',
    ],
  },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-default-export': 'error',
      'no-restricted-syntax': ['error', NO_BARRELS],
      'no-restricted-imports': [
        'error',
        {
          paths: builtinModules
            .filter((name) => !name.includes(':'))
            .map((name) => ({ name, message: `Write node:${name}.` })),
        },
      ],
      'no-console': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      'max-lines': ['error', { max: 500 }],
    },
  },
  {
    files: ['src/**', 'web/**', 'packages/!(control-plane)/**/*.ts'],
    plugins: { causeway: { rules: { 'no-lookup-by-name': noLookupByName } } },
    rules: { 'causeway/no-lookup-by-name': 'error' },
  },
  {
    files: [...CORES, 'src/store/**', 'src/config/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Take a clock as a parameter.' },
        { object: 'Math', property: 'random', message: 'Take chance as a parameter.' },
      ],
      'no-restricted-globals': [
        'error',
        { name: 'performance', message: 'Take a clock as a parameter.' },
        ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({
          name,
          message: 'Take timers as a parameter (src/model/time-and-size.ts).',
        })),
      ],
    },
  },
  {
    files: ['test/**', 'examples/**', 'lab/**', 'packages/control-plane/**', 'scripts/**'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['test/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        NO_BARRELS,
        {
          selector: 'Program > ExpressionStatement CallExpression[callee.name=/^(after|before)(All|Each)$/]',
          message:
            'It would be for the first file of tests alone that imports this; export a function that calls it.',
        },
      ],
    },
  },
)
