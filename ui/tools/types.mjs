// Writes src/types.ts: types of the REST interface that pages use, from the OpenAPI document. With --check, fails if
// the file differs.
import { readFileSync, writeFileSync } from 'node:fs';

/** Schemas that pages use; schemas that they refer to are added. */
const USED = ['Agent', 'Alerts', 'Contract', 'ContractHealth', 'ContractTraffic', 'Flows', 'HealthPage', 'Host', 'Link', 'LoadHistory', 'Names', 'Snapshot', 'Statement', 'Status', 'Tenant', 'Timeline', 'TopologySummary', 'TopTraffic', 'Vm', 'WhatIfQuery', 'WhatIfResult'];
const FILE = 'src/types.ts';

const { schemas } = JSON.parse(readFileSync('../docs/api/openapi.json', 'utf8')).components;
const wanted = new Set(USED);

/** Returns the TypeScript type of a schema. */
function type(schema) {
  if (schema.$ref) {
    const name = schema.$ref.split('/').pop();
    wanted.add(name);
    return name;
  }
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) return alternatives.map(type).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(' | ');
  switch (schema.type) {
    case 'array': {
      const items = type(schema.items);
      return items.includes(' | ') ? `(${items})[]` : `${items}[]`;
    }
    case 'boolean': case 'null': case 'string': return schema.type;
    case 'integer': case 'number': return 'number';
    case 'object': return schema.additionalProperties?.type || schema.additionalProperties?.$ref ? `Record<string, ${type(schema.additionalProperties)}>` : 'Record<string, unknown>';
    default: throw new Error(`no type for ${JSON.stringify(schema)}`);
  }
}

/** Returns all properties of an object with those of its parts. Alternatives become one object: a property is
 * required if all of them require it. */
function members(schema) {
  if (schema.$ref) return members(schemas[schema.$ref.split('/').pop()]);
  const all = new Map(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, { ...one, required: schema.required?.includes(name) ?? false }]));
  for (const part of schema.allOf ?? []) for (const [name, one] of members(part)) all.set(name, one);
  const alternatives = (schema.oneOf ?? []).map(members);
  for (const one of alternatives) {
    for (const [name, member] of one) all.set(name, { ...member, required: alternatives.every((other) => other.get(name)?.required) });
  }
  return all;
}

function isObject(schema) {
  if (schema.$ref) return isObject(schemas[schema.$ref.split('/').pop()]);
  return schema.type === 'object' || schema.allOf !== undefined || (schema.oneOf?.every(isObject) ?? false);
}

const written = new Map();
for (const name of wanted) {
  const schema = schemas[name];
  if (!schema) throw new Error(`the document has no schema ${name}`);
  const text = (schema.description ?? '').split('\n')[0];
  const about = text ? `/** ${text} */\n` : '';
  if (!isObject(schema)) {
    written.set(name, `${about}export type ${name} = ${type(schema)};\n`);
    continue;
  }
  // Only required keys of answers can be `null`, for figures that the controller does not know (crates/control/server/src/http/schema.rs).
  const member = (one) => (one.required ? type(one) : type(one).replace(/ \| null$/, '').replace(/^null \| /, ''));
  const lines = [...members(schema)].map(([name, one]) => `  ${name}${one.required ? '' : '?'}: ${member(one)};\n`);
  written.set(name, `${about}export interface ${name} {\n${lines.join('')}}\n`);
}
const names = [...written.keys()].sort();
const text = `// Types of the REST interface. Written by tools/types.mjs from docs/api/openapi.json: do not edit.\n\n${names.map((name) => written.get(name)).join('\n')}`;
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) throw new Error(`ui/${FILE} is not that of docs/api/openapi.json: run \`npm run types\` in ui/`);
