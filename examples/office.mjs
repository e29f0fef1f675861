// What the triage example talks to: `node examples/office.mjs`. A model that speaks the OpenAI protocol, and the team's chat. Both
// are played: the model judges by a few words in the title, and the chat prints what it is told. It needs nothing but Node, and
// listens on PORT (4502).
//
// POST /v1/chat/completions  answers as a stream
// POST /messages             takes a message
import { once } from 'node:events'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

function judge(text) {
  const title = /^Title: (.*)$/m.exec(text)?.[1] ?? ''
  const priority_level = /crash|down|data loss|security/i.test(title)
    ? 'high'
    : /typo|wording|colour/i.test(title)
      ? 'low'
      : 'normal'
  return { priority_level, summary: `About: ${title.toLowerCase()}` }
}

/** `pause` is waited for in the middle of each answer. Tests hold the model up with it. */
export async function startOffice({ port = 0, pause = async () => {}, say = () => {} } = {}) {
  const asked = []
  const messages = []

  const complete = async (request, response, text) => {
    const { model, messages: said, stream } = JSON.parse(text)
    asked.push({ model, said, stream, authorization: request.headers.authorization ?? null })
    const answer = JSON.stringify(judge(said.at(-1).content))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const piece = (value) =>
      response.write(`data: ${JSON.stringify({ object: 'chat.completion.chunk', model, ...value })}\n\n`)
    const half = Math.ceil(answer.length / 2)
    piece({ choices: [{ index: 0, delta: { role: 'assistant', content: answer.slice(0, half) } }] })
    await pause(said.at(-1).content)
    piece({ choices: [{ index: 0, delta: { content: answer.slice(half) }, finish_reason: 'stop' }] })
    piece({ choices: [], usage: { prompt_tokens: 60, completion_tokens: 20, total_tokens: 80 } })
    response.end('data: [DONE]\n\n')
    say(`the model answered ${answer}`)
  }

  const server = createServer(async (request, response) => {
    try {
      let text = ''
      for await (const chunk of request) text += chunk
      if (request.url === '/v1/chat/completions') {
        await complete(request, response, text)
        return
      }
      messages.push(JSON.parse(text))
      say(`the team reads: ${messages.at(-1).text}`)
      response
        .writeHead(201, { 'content-type': 'application/json' })
        .end(JSON.stringify({ id: messages.length }))
    } catch {
      // The caller died while it wrote.
      response.destroy()
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    asked,
    messages,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url } = await startOffice({ port: Number(process.env.PORT ?? 4502), say: console.log })
  console.log(`The office is up at ${url}`)
}
