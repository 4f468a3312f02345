const { TestWriter } = await import('./test/support/test-writer.ts')
const { spansRequest } = await import('./test/support/otlp-requests.ts')
const path = process.argv[2], total = Number(process.argv[3]), withCpid = process.argv[4]==='cpid'
const w = await TestWriter.open({ traceIndex: { batch: 10000, readAtStart: 100000, readAtOnce: 1000, leastIds: 1000 } }, path)
const t0 = Date.now(); let id = 1
const services = ['web','api','db','cart','queue','auth']
for (let n = 0; n < total;) {
  const spans = []
  for (let t = 0; t < 200; t++) { const trace = n/5 + 1; for (let s = 0; s < 5; s++, n++) spans.push({ trace: Math.floor(trace), id: ++id, parent: s===0?undefined:id-1, name: `op ${n%40}`, start: Math.floor(n/2000)*3.6, attributes: {  'http.method': n%3?'GET':'POST', 'user.name': n===123456?'rare':`user-${n%1000}`, 'http.target': `/some/long/path/${n%777}` } }) }
  w.spans(services[Math.floor(n/1000)%6], spans)
  if (n % 50000 === 0) { w.link(); process.stdout.write('.') }
}
w.pass(1_000_000)
console.log('\nfilled', total, (Date.now()-t0)/1000, 's'); w.shortenLog(); w[Symbol.dispose]()
