import type { ServerResponse } from 'node:http'

/** Answers with a line of text, which the API server writes into its log. */
export function answerText(response: ServerResponse, status: number, text: string): void {
  answer(response, status, 'text/plain; charset=utf-8', `${text}\n`)
}

export function answerJson(response: ServerResponse, status: number, json: string): void {
  answer(response, status, 'application/json', json)
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body)
}
