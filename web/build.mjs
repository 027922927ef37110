// Builds dist/report.html, or the file named as argument: script, style and licence in one file. The result is reproducible.
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = new URL('.', import.meta.url);
const read = (path) => readFileSync(new URL(path, here), 'utf8');

async function bundle(entry) {
  const result = await build({
    entryPoints: [entry],
    absWorkingDir: fileURLToPath(here),
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    charset: 'utf8',
    target: ['chrome123', 'firefox120', 'safari17.5'],  // the first with light-dark() in CSS
  });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const script = await bundle('src/main.ts');
const style = await bundle('src/style/main.css');
const parts = {
  POLICY: [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  LICENCE: read('node_modules/uplot/LICENSE').trim(),
  STYLE: style,
  SCRIPT: script,
};
const html = read('src/report.html').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);

// The program replaces the first occurrence by the data.
if (html.split('LEHI_REPORT_DATA').length !== 2) throw new Error('LEHI_REPORT_DATA must be in the page exactly once');
if (script.includes('</script') || style.includes('</style')) throw new Error('the bundle would end its own element');

const target = process.argv[2] ?? fileURLToPath(new URL('dist/report.html', here));
mkdirSync(dirname(target), {recursive: true});
writeFileSync(target, html);
console.log(`report.html: ${Buffer.byteLength(html)} bytes`);
