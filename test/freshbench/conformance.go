package freshbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Attribute is the test attribute in which TestConformance tells how the cases with several fetches came out:
// how many there are, how many agree with libpcp, differ as is wanted, and fail.
const Attribute = "several-fetches"

// conformanceCases runs the conformance test, whose daemons have --interval=0.
func conformanceCases(ctx context.Context, b *bench) ([]Row, error) {
	if b.options.Plan.Conformance == "" {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout=10m", "-run=^TestConformance$", "./test")
	cmd.Dir = b.options.Plan.Conformance
	cmd.Stderr = b.options.Log
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Key, Value, Output string }
		err := decoder.Decode(&event)
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("TestConformance has not told how the cases with several fetches came out")
		case err != nil:
			return nil, err
		case status != nil && (event.Action == "output" || event.Action == "build-output"):
			b.logf("%s", strings.TrimSuffix(event.Output, "\n"))
		case event.Action == "attr" && event.Key == Attribute:
			var cases, agree, wanted, failures int
			if _, err := fmt.Sscan(event.Value, &cases, &agree, &wanted, &failures); err != nil {
				return nil, fmt.Errorf("attribute %q: %w", event.Value, err)
			}
			return []Row{{
				What:     "corpus cases with several fetches, --interval=0",
				Measured: fmt.Sprintf("%d of %d as libpcp, %d differ as is wanted", agree, cases, wanted), Target: "no other",
				OK: failures == 0 && agree+wanted == cases && cases > 0,
			}}, nil
		}
	}
}
