// Writes the table that the server includes: name and contents of every built file.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env.WAYLEAVE_UI_OUT ?? '../crates/control/server/ui';
const names = readdirSync(folder).filter((name) => name !== 'files.in').sort();
if (!names.includes('index.html')) throw new Error(`${folder} has no index.html: vite build comes first`);
const lines = names.map((name) => `    (${JSON.stringify(name)}, include_bytes!(${JSON.stringify(name)})),\n`);
writeFileSync(join(folder, 'files.in'), `&[\n${lines.join('')}]\n`);
