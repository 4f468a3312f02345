package otlp_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"causeway/changes"
	"causeway/otlp"
)

func begin(t *testing.T) {
	t.Helper()
	library, err := changes.New(changes.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := otel.Tracer("test").Start(t.Context(), "work")
	library.NewRoot(ctx, changes.Detail{Reason: "a test"})
	span.End()
	if library.Lost() > 0 {
		t.Errorf("%d mergelogs are lost", library.Lost())
	}
}

func TestWhatIsLeftIsSentInTheEnd(t *testing.T) {
	var mu sync.Mutex
	var paths []string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, request.URL.Path)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	shutdown, err := otlp.Start(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	begin(t)
	if err := shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"/v1/logs", "/v1/traces"}) {
		t.Errorf("%v are asked", paths)
	}
}

func TestWhatMeetsNobodyIsSentAgain(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked[request.URL.Path]++; asked[request.URL.Path] > 1 {
			return
		}
		connection, _, err := writer.(http.Hijacker).Hijack()
		if err == nil {
			err = connection.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	shutdown, err := otlp.Start(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	begin(t)
	if err := shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if want := map[string]int{"/v1/logs": 2, "/v1/traces": 2}; !maps.Equal(asked, want) {
		t.Errorf("%v are asked, not %v", asked, want)
	}
}

func TestWhatSomebodyMayCureIsSentAgain(t *testing.T) {
	for status, times := range map[int]int{
		http.StatusUnauthorized: 2, http.StatusForbidden: 2, http.StatusNotFound: 2, http.StatusInternalServerError: 2,
		http.StatusServiceUnavailable: 2, http.StatusBadRequest: 1, http.StatusRequestEntityTooLarge: 1, http.StatusNotImplemented: 1,
	} {
		var mu sync.Mutex
		asked := map[string]int{}
		collector := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if asked[request.URL.Path]++; asked[request.URL.Path] == 1 {
				http.Error(writer, "ask again", status)
			}
		}))
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		shutdown, err := otlp.Start(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		begin(t)
		err = shutdown(context.Background())
		if (err == nil) != (times == 2) {
			t.Errorf("after %d the end says %v", status, err)
		}
		collector.Close()
		if want := map[string]int{"/v1/logs": times, "/v1/traces": times}; !maps.Equal(asked, want) {
			t.Errorf("after %d %v are asked, not %v", status, asked, want)
		}
	}
}

// An answer of OTLP over HTTP whose partial success says how many items are refused, and why.
func partly(refused byte, why string) []byte {
	said := append([]byte{0x08, refused, 0x12, byte(len(why))}, why...)
	return append([]byte{0x0a, byte(len(said))}, said...)
}

func TestOfWhatIsTakenInPartTheRestAloneIsLost(t *testing.T) {
	const many = 5
	for _, given := range []struct {
		refused byte
		lost    []string
	}{
		{0, nil}, // A warning.
		{2, []string{"2 spans of 5 were not delivered", "2 mergelogs of 5 were not delivered"}},
		{many, []string{"5 spans of 5 were not delivered", "5 mergelogs of 5 were not delivered"}},
	} {
		collector := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			writer.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = writer.Write(partly(given.refused, "a cycle"))
		}))
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		shutdown, err := otlp.Start(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		for range many {
			begin(t)
		}
		said := ""
		if err := shutdown(context.Background()); err != nil {
			said = err.Error()
		}
		for _, lost := range given.lost {
			if !strings.Contains(said, lost) {
				t.Errorf("of %d refused it is said: %q", given.refused, said)
			}
		}
		if len(given.lost) == 0 && strings.Contains(said, "not delivered") {
			t.Errorf("of a warning it is said: %q", said)
		}
		collector.Close()
	}
}

func TestAProcessEndsThoughNobodyTakesIt(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	shutdown, err := otlp.Start(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	begin(t)
	if err := shutdown(context.Background()); err == nil {
		t.Error("nobody says that something is left")
	}
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	told []string
}

func (l *lines) add(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, line)
}

func (l *lines) about(what string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.told {
		if strings.Contains(one, what) {
			found = append(found, one)
		}
	}
	return found
}

var logged = &lines{}

func TestMain(m *testing.M) {
	log.SetLogger(funcr.New(logged.add, funcr.Options{}))
	m.Run()
}

func TestWhatIsTooMuchIsCountedAndNothingWaitsForIt(t *testing.T) {
	const many = 30_000
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	shutdown, err := otlp.Start(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]int{}
	for _, what := range []string{"spans are lost", "mergelogs are lost"} {
		before[what] = len(logged.about(what))
	}
	for range many {
		begin(t)
	}
	for what, lines := range before {
		// It says so once a minute, though thousands are lost.
		if told := logged.about(what)[lines:]; len(told) == 0 || len(told) > 20 {
			t.Errorf("the log says %q while %s", told, what)
		}
	}
	for _, provider := range []any{otel.GetLoggerProvider(), otel.GetTracerProvider()} {
		soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = provider.(interface{ ForceFlush(context.Context) error }).ForceFlush(soon)
	}
	// A process that flushes may end soon: all losses so far are logged, also within the minute.
	for what := range before {
		told := logged.about(what)
		_, all, _ := strings.Cut(told[len(told)-1], `"since the start"=`)
		if lost, _ := strconv.Atoi(all); lost < many-2*10_000 {
			t.Errorf("the log says that %q %s", all, what)
		}
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	// Keeping all spans would take several times as much.
	if memory.HeapAlloc > 100<<20 {
		t.Errorf("%d MiB are held", memory.HeapAlloc>>20)
	}
	err = shutdown(context.Background())
	for _, what := range []string{"30000 spans of 30000", "30000 mergelogs of 30000"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("the end says %v, and not %s", err, what)
		}
	}
}
