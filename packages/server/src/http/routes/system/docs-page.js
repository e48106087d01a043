// Shows /openapi.json to people: what each operation takes, answers and needs, and a curl command to begin with.
const document_ = await (await fetch('/openapi.json')).json()
const menu = document.getElementById('menu')
const list = document.getElementById('operations')
document.getElementById('intro').append(...prose(document_.info.description))
list.textContent = ''

const groups = new Map()
for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const tag = operation.tags[0]
    groups.set(tag, [...(groups.get(tag) ?? []), { path, method: method.toUpperCase(), ...operation }])
  }
}
for (const [tag, operations] of groups) {
  menu.append(element('h2', {}, tag))
  for (const operation of operations) {
    menu.append(element('a', { href: `#${operation.operationId}`, title: operation.path }, operation.summary))
    list.append(show(operation))
  }
}
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()

function show(operation) {
  const { operationId, method, path, summary, description, parameters = [], requestBody, responses } = operation
  const article = element('article', { id: operationId })
  const scope = operation['x-scope']
  article.append(element('span', { class: 'scope' }, scope ? `scope ${scope}` : 'open to everybody'))
  article.append(element('h3', {}, summary), line(element('span', { class: 'verb' }, method), ` ${path}`))
  if (description) article.append(element('p', {}, ...prose(description)))
  if (parameters.length > 0) {
    const rows = parameters.map(({ name, in: where, required, schema, description: meaning }) => [
      name,
      `${where}${required ? ', required' : ''}`,
      brief({ ...schema, description: meaning }),
    ])
    article.append(table(rows))
  }
  const body = requestBody?.content['application/json']?.schema
  if (body) article.append(details('Body', json(resolve(body))))
  const rows = Object.entries(responses).map(([status, { description: text }]) => [status, text])
  article.append(details('Answers', table(rows)))
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const answer = success?.content?.['application/json']?.schema
  if (answer) article.append(details('Shape of the answer', json(resolve(answer))))
  article.append(element('pre', {}, curl(method, path, body)))
  return article
}

function curl(method, path, body) {
  const example = body && resolve(body).examples?.[0]
  const parts = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${location.origin}${path}`]
  if (body) parts.push("-H 'content-type: application/json'", `-d '${JSON.stringify(example ?? {}, null, 2)}'`)
  return parts.join(' \\\n  ')
}

/** A schema with its references followed, once each. */
function resolve(schema, seen = []) {
  if (Array.isArray(schema)) return schema.map((each) => resolve(each, seen))
  if (typeof schema !== 'object' || schema === null) return schema
  if (schema.$ref) {
    const name = schema.$ref.split('/').pop()
    return seen.includes(name) ? { $ref: name } : resolve(document_.components.schemas[name], [...seen, name])
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolve(value, seen)]))
}

function brief(schema) {
  const { type, format, enum: words, description, default: usual } = resolve(schema)
  const kind = words ? words.join(' | ') : [type, format === 'well-formed' ? '' : format].filter(Boolean).join(', ')
  return [kind, usual === undefined ? '' : `default ${usual}`, description].filter(Boolean).join('; ')
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

/** Text in which backticks mean code. */
function prose(text) {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : line(part)))
}

function line(...children) {
  const code = element('code')
  code.append(...children)
  return code
}

function json(value) {
  return element('pre', {}, JSON.stringify(value, null, 2))
}

function details(title, content) {
  return element('details', {}, element('summary', {}, title), content)
}

function table(rows) {
  const made = element('table')
  for (const cells of rows) {
    const row = element('tr')
    cells.forEach((cell, at) => {
      row.append(element('td', {}, ...(at === 0 ? [line(cell)] : prose(cell))))
    })
    made.append(row)
  }
  return made
}
