package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var noArguments = json.RawMessage(`{"type":"object"}`)
var wantedAnswer = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A tool asks by its result: the SDK makes requests of it for a client that has a session.
func asks(name string, request mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{name: request}}
}

func callTool(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := request.Params.Name
	text := "done"
	switch name {
	case "counter":
		text = fmt.Sprint(countOf(request.Session.ID()))
	case "count":
		for progress := range 3 {
			token := request.Params.GetProgressToken()
			if token == nil {
				break
			}
			report := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(progress + 1)}
			if err := request.Session.NotifyProgress(ctx, report); err != nil {
				return nil, err
			}
		}
	case "ask_user":
		answer, isGiven := request.Params.InputResponses["user"].(*mcp.ElicitResult)
		if !isGiven {
			return asks("user", &mcp.ElicitParams{Message: "Really?", RequestedSchema: wantedAnswer}), nil
		}
		text = fmt.Sprint(answer.Content["answer"])
	case "ask_model":
		given := request.Params.InputResponses["model"]
		if given == nil {
			message := &mcp.SamplingMessage{Role: "user", Content: &mcp.TextContent{Text: "Say it"}}
			return asks("model", &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{message}}), nil
		}
		text = contentOf(given)
	case "wait":
		tell(members{"event": "waiting"})
		<-ctx.Done()
		tell(members{"event": "cancelled"})
		return said("cancelled"), nil
	}
	tell(members{"event": "done", "tool": name})
	return said(text), nil
}

var counting sync.Mutex
var counts = map[string]int{}

// countOf counts the calls of a session.
func countOf(session string) int {
	counting.Lock()
	defer counting.Unlock()
	counts[session]++
	return counts[session]
}

func contentOf(response mcp.InputResponse) string {
	var content mcp.Content
	switch result := response.(type) {
	case *mcp.CreateMessageResult:
		content = result.Content
	case *mcp.CreateMessageWithToolsResult:
		content = result.Content[0]
	}
	text, isText := content.(*mcp.TextContent)
	if !isText {
		return fmt.Sprintf("%T", content)
	}
	return fmt.Sprintf(`{"type":"text","text":%q}`, text.Text)
}

func newServer(versions ...string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, &mcp.ServerOptions{
		SubscribeHandler:          func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SupportedProtocolVersions: versions,
	})
	for _, name := range []string{"echo", "count", "counter", "ask_user", "ask_model", "wait"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "For the matrix: " + name, InputSchema: noArguments}, callTool)
	}
	server.AddResource(
		&mcp.Resource{URI: resourceURI, Name: "doc"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			contents := []*mcp.ResourceContents{{URI: resourceURI, Text: "the document"}}
			return &mcp.ReadResourceResult{Contents: contents}, nil
		},
	)
	server.AddPrompt(
		&mcp.Prompt{Name: "greet"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			message := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: "hello"}}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{message}}, nil
		},
	)
	return server
}

func handlerOf(server *mcp.Server, isStateless bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: isStateless, PropagateRequestCancellation: true},
	)
}

// runBackend serves legacy with sessions, modern without; dual has both, told apart by the version that a request names. Stateless is
// one handler that serves both without sessions.
func runBackend(era string) {
	withSessions, stateless := newServer(), newServer(modern)
	if era == "stateless" {
		era, stateless = "modern", newServer()
	}
	old, current := handlerOf(withSessions, false), handlerOf(stateless, true)
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		isModern := request.Header.Get("Mcp-Protocol-Version") == modern
		if era == "modern" || era == "dual" && isModern {
			current.ServeHTTP(w, request)
		} else {
			old.ServeHTTP(w, request)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, handler)
	tell(members{"event": "listening", "url": fmt.Sprintf("http://%s/mcp", listener.Addr())})
	forEachOrder(func(order) {
		for _, server := range []*mcp.Server{withSessions, stateless} {
			server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: resourceURI})
		}
	})
}
