package changes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"causeway/changes"
)

func TestMergelogsThatNobodyTakesAreLoggedAtMostOnceAMinute(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var lines []string
	library, err := changes.New(changes.Settings{
		Now:    func() time.Time { return at },
		Logger: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		library.NewRoot(t.Context(), changes.Detail{})
	}
	at = at.Add(time.Minute)
	library.NewRoot(t.Context(), changes.Detail{})
	if len(lines) != 2 || !strings.Contains(lines[0], `"lost"=1`) || !strings.Contains(lines[1], `"lost"=100`) {
		t.Errorf("the log says %q", lines)
	}
}
