const { openForReading } = await import('./src/store/sqlite/open-database.ts').then(m=>m)
const { SqliteQueries } = await import('./src/store/sqlite/queries.ts')
const { answer } = await import('./src/query/answer.ts')
const { readTraceQl } = await import('./src/query/traceql/read-traceql.ts')
const m = await import('./src/store/sqlite/open-database.ts'); const open = m.openForReading ?? m.openReadOnly ?? Object.values(m).find(f=>/read/i.test(f.name??''))
const db = open(process.argv[2]); const q = new SqliteQueries(db)
for (const t of process.argv.slice(3)) { for (let i=0;i<1;i++) { const s=performance.now(), c0=process.cpuUsage(); let longest=0, last=s
 const query = readTraceQl(t)
 const question = query.metric ? {kind:'metrics', query, range:{fromNs:1767225600n*10n**9n, toNs:1767229200n*10n**9n, stepNs: 15n*10n**9n,isInstant:false}, series:1000, exemplars:100} : {kind:'searchTraces',shape:'tempo',search:{pipeline:query.pipeline,limit:20,spansPerTrace:3}}
 let text=''; for (const p of answer(q, question, () => performance.now()).pieces) { const n=performance.now(); longest=Math.max(longest,n-last); last=n; text+=p }
 const r=JSON.parse(text); console.log("cpu", (process.cpuUsage(c0).user/1000).toFixed(0), (performance.now()-s).toFixed(0).padStart(6),'ms longest slice',longest.toFixed(0), t, 'traces', r.traces?.length ?? r.series?.length, JSON.stringify(r.metrics), r.message??'') } }
